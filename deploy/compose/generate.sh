#!/bin/bash
# Events of a simulated checkout for deploy/compose.yaml: some 100 a second, of 9000 users, one JSON object a line.
regions=(eu us ap)
while sleep 0.1; do
  for _ in {1..10}; do
    user=$((RANDOM % 9000))
    # The sum of four uniform numbers is close to a bell; its median is 200 ms.
    latency=$((80 + (RANDOM % 60) + (RANDOM % 60) + (RANDOM % 60) + (RANDOM % 60)))
    printf '{"user_id":"u%d","region":"%s","latency_ms":%d,"ts":%(%s)T}\n' "$user" "${regions[user % 3]}" "$latency" -1
  done
done
