"""Follows an output topic of Louver and prints its figures, each once: a copy does not have to be added again.

    pip install confluent-kafka
    python3 deploy/examples/python/follow.py localhost:9092 checkout.private
"""

import json
import sys

from confluent_kafka import Consumer


def text(f):
    """Says how much the value can be trusted."""
    if f["status"] != "ok" or f["value"] is None:
        words = "withheld: " + (f["reason"] or "")
    else:
        words = f"{f['value']} {f['unit']}".strip()
        if f["statistic"] == "watch":
            pass  # an alarm: 1 once it has fired
        elif f["interval"] is not None:
            i = f["interval"]
            words += f", between {i['low']} and {i['high']} with probability {i['level']}"
        elif f.get("error_95") is not None:
            words += f" ± {f['error_95']}"
        elif f["p_low"] is not None and f["p_high"] is not None:
            words += f", between the quantiles {f['p_low']} and {f['p_high']}"
        elif f["rank_error_95"] is not None:
            words += f", off by at most {f['rank_error_95']} users in the order of values"
        else:
            words += ", error unknown"
        if f.get("quality") == "noise":
            words += ", mostly noise"
    return words + (", incomplete" if f.get("incomplete") else "")


def main(brokers, topic):
    consumer = Consumer({
        "bootstrap.servers": brokers,
        "group.id": "louver-example",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    })
    consumer.subscribe([topic])
    newest = {}  # the last window of each series: they come in order, and a key is a series
    while True:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            print(message.error(), file=sys.stderr)
            continue
        try:
            f = json.loads(message.value(), parse_float=str, parse_int=str)  # every digit as it was written
        except (TypeError, ValueError):
            continue
        if not isinstance(f, dict) or f.get("schema") != "louver.release.v1":
            continue  # not a figure
        key = message.key().decode()
        if f["window_end"] > newest.get(key, ""):
            newest[key] = f["window_end"]
            print(f["window_end"], key, text(f), flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("want the brokers and an output topic")
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        pass
