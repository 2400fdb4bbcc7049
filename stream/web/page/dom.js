// Making elements. All text goes in as text: nothing of a record is ever taken for HTML.

/**
 * Makes an element. Attributes whose names begin with "on" are listeners; undefined, null and false leave one out.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string|null|undefined)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** Sets an element's text and title, if they have changed: an unchanged page is not laid out again. */
export function say(element, text, title) {
  if (element.textContent !== text) element.textContent = text;
  if (title !== undefined && element.title !== title) element.title = title;
}

/** Whether an element is to be made anew, because it would be made of something else: links in it keep the focus. */
export function changed(element, of) {
  const before = element.dataset.of;
  return before !== (element.dataset.of = JSON.stringify(of));
}
