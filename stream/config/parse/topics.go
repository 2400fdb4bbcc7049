package parse

import (
	"regexp"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

const aTopic = "the name of a topic: 1–249 of the characters a–z, A–Z, 0–9, ., _ and -"

const (
	topicForm    = `^\.*[A-Za-z0-9_-][A-Za-z0-9._-]*$`
	longestTopic = 249
)

var topicExp = regexp.MustCompile(topicForm)

func topicName() form.Kind[string] { return form.Name("topic", aTopic, topicForm, longestTopic) }

// IsTopic reports whether a topic may have this name. Kafka takes the same names, and also names that consist of three
// or more dots.
func IsTopic(name string) bool { return len(name) <= longestTopic && topicExp.MatchString(name) }

// topic is {topic: NAME}.
func topic(meaning, example string) form.Kind[string] {
	return form.MappingOf[string](form.Form{{Name: "topic", Required: true, Example: example, Meaning: meaning,
		Value: form.Into(topicName(), func(s *string, v string) { *s = v })}}, nil)
}

type outputKeys struct {
	topic, format string
	tombstones    bool
}

var outputForm = form.Form{
	{Name: "topic", Required: true, Example: "checkout.private", Meaning: "the topic for published records",
		Value: form.Into(topicName(), func(o *outputKeys, v string) { o.topic = v })},
	{Name: "format", Fallback: config.OutputJSON, Example: config.OutputAvro,
		Meaning: "how records are written. `avro`: as the serializers of Confluent do, with the schema in the " +
			"registry at LOUVER_SCHEMA_REGISTRY_URL, under the name of the topic and `-value`. Numbers are doubles " +
			"there. All streams of a topic have the same format, and it never changes",
		Value: form.Into(form.OneOf(config.OutputJSON, config.OutputAvro),
			func(o *outputKeys, v string) { o.format = v })},
	{Name: "tombstones", Fallback: "false", Example: "true",
		Meaning: "whether the series of a group that left the list of found groups end with a record without a " +
			"value. A compacted topic then drops them",
		Value: form.Into(form.Boolean(), func(o *outputKeys, v bool) { o.tombstones = v })},
}
