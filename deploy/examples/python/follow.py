"""Follows an output topic of Louver and prints its figures, each once: a copy does not have to be added again.

    pip install confluent-kafka
    python3 deploy/examples/python/follow.py localhost:9092 checkout.private
"""

import json
import os
import signal
import sys

try:
    from confluent_kafka import Consumer
except ImportError:
    sys.exit("there is no package confluent_kafka; want it: pip install confluent-kafka")


def text(f):
    """Says how much the value can be trusted."""
    if f["status"] != "ok" or f["value"] is None:
        words = "withheld: " + (f["reason"] or "")
    else:
        words = f"{f['value']} {f['unit']}".strip()
        if f["statistic"] == "watch":
            pass  # an alarm: 1 once it has fired
        elif f.get("low") is not None:  # the band; records of earlier releases have none
            words += f", between {f['low']} and {f['high']} with probability {f['level']}"
        elif f["p_low"] is not None and f["p_high"] is not None:
            words += f", between the quantiles {f['p_low']} and {f['p_high']}"
        else:
            words += ", no band"
        if f.get("quality") == "noise":
            words += ", mostly noise"
    return words + (", incomplete" if f.get("incomplete") else "")


def main(brokers, topic):
    told = set()

    def tell(error):  # once: the client tries again by itself
        if error.code() not in told:
            told.add(error.code())
            print(error.str(), file=sys.stderr)

    consumer = Consumer({
        "bootstrap.servers": brokers,
        "group.id": "louver-example",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "error_cb": tell,
        "log_level": 2,  # tell says what matters
    })
    consumer.subscribe([topic])
    stopped = []
    signal.signal(signal.SIGINT, lambda *_: stopped.append(True))  # Ctrl-C
    newest = {}  # the last window of each series: they come in order, and a key is a series
    while not stopped:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            tell(message.error())
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
        sys.exit("want the brokers and an output topic, such as localhost:9092 checkout.private")
    try:
        main(*sys.argv[1:])
    except BrokenPipeError:  # nobody reads any more, as with | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
