package parse

import (
	"strings"
	"testing"
)

// right is a streams file without mistakes. The wrong ones differ from it in one place.
const right = `version: 1
budgets:
  - {name: shoppers, epsilon: 24, per: 24h}
streams:
  - name: checkout
    description: time to confirm an order
    input:
      topic: checkout.events
      format: json
      user: user_id
      value: latency_ms
      time: ts
      group: region
      max_future: 5m
    unit: ms
    groups: [eu, us, ap]
    max_groups: 1
    bounds: {lower: 0, upper: 60000, step: 1, prior: cells}
    expected_users: 5000
    window: {size: 15m, every: 15m, grace: 30s, start: now}
    contribution: last
    releases:
      - {name: p50, statistic: median, epsilon: 0.05}
      - {name: p90, statistic: quantile, p: 0.9, epsilon: 0.05}
      - {name: users, statistic: count, epsilon: 0.02}
      - {name: slow, statistic: count, above: 800, epsilon: 0.01}
    min_users: {count: 50, release: users}
    rejects: {topic: checkout.rejects}
    late: {topic: checkout.late}
    output: {topic: checkout.private}
    budget: shoppers
    on_exhausted: refuse
`

// p50 is the line of right that is edited most.
const p50 = "{name: p50, statistic: median, epsilon: 0.05}"

// want begins with the line number. If it ends in "…", the rest is another package's text.
var wrongEdits = []struct{ old, new, want string }{
	{`version: 1`, `version: 2`,
		`1: version: 2; want 1`},
	{"version: 1\n", ``,
		`1: version: missing; want 1`},
	{`version: 1`, `verson: 1`,
		`1: verson: unknown key; did you mean "version"?`},
	{`version: 1`, `version: [1]`,
		`1: version: a list; want 1`},
	{`version: 1`, "version: 1\nmode: fast",
		`2: mode: unknown key; want version, revision, removed, budgets or streams`},
	{`version: 1`, "version: 1\nversion: 1",
		`2: version: already set on line 1; remove one of the two`},
	{`version: 1`, "version: 1\n\tstreams:",
		`2: a tab; indent YAML with spaces`},
	{"streams:\n", "streams: {}\nx:\n",
		"4: streams: a mapping; want a list of streams\n5: x: unknown key; want version, revision, removed, " +
			"budgets or streams"},
	{`- {name: shoppers, epsilon: 24, per: 24h}`, `- {name: shoppers, epsilon: 24}`,
		`3: budgets[shoppers].per: missing; add it, for example per: 24h (the rolling period)`},
	{`epsilon: 24, per: 24h`, `epsilon: 0, per: 24h`,
		`3: budgets[shoppers].epsilon: 0; want a number greater than 0`},
	{`epsilon: 24, per: 24h`, `per: 24h`,
		`3: budgets[shoppers].epsilon: missing; add it, for example epsilon: 24 (what one user may lose in a period, in ε)`},
	{`epsilon: 24, per: 24h`, `epsilon: lots, per: 24h`,
		`3: budgets[shoppers].epsilon: "lots" is not a number; want a number greater than 0`},
	{`epsilon: 24, per: 24h`, `epsilon: 24, per: fortnight`,
		`3: budgets[shoppers].per: "fortnight" is not a duration; want a duration of whole seconds, for example 15m, or forever`},
	{`epsilon: 24, per: 24h`, `epsilon: 24, per: 0s`,
		`3: budgets[shoppers].per: 0s is less than 1s; want a duration of whole seconds, for example 15m, or forever`},
	{`epsilon: 24, per: 24h`, `epsilon: 24, per: 24h, delta: 0.5`,
		`3: budgets[shoppers].delta: 0.5; want a number of at least 0 and less than 0.1`},
	{`epsilon: 24, per: 24h`, `epsilon: 24, per: 24h, delta: -0.1`,
		`3: budgets[shoppers].delta: -0.1; want a number of at least 0 and less than 0.1`},
	{`epsilon: 24, per: 24h`, `epsilon: 24, per: 24h, order: 30`,
		`3: budgets[shoppers].order: order 30 without a delta; want a delta too, or no order`},
	{`epsilon: 24, per: 24h`, `epsilon: 24, delta: 0.001, per: 24h, order: 1`,
		`3: budgets[shoppers].order: 1; want a number greater than 1 and less than 1000000`},
	{`epsilon: 24, per: 24h`, `epsilon: 24, delta: 0.001, per: 24h, order: 1.50000000001`,
		`3: budgets[shoppers].order: order 1.50000000001; want at most 9 decimal places`},
	{`name: shoppers`, `name: shop/pers`,
		`3: budgets[shop/pers].name: "shop/pers"; want a name of 1–200 of the characters a–z, A–Z, 0–9, ., _ and -`},
	{`epsilon: 24, per: 24h}`, "epsilon: 24, per: 24h}\n  - {name: shoppers, epsilon: 2, per: 24h}",
		`4: budgets[shoppers]: the name "shoppers" is taken by the budget at s.yaml:3; choose another name`},
	{"name: checkout\n", "name: Checkout\n",
		`5: streams[Checkout].name: "Checkout" has other characters than a–z, 0–9 and -; write checkout`},
	{"name: checkout\n", "name: \"\"\n",
		`5: streams[0].name: ""; want a name of the characters a–z, 0–9 and -`},
	{"name: checkout\n", "name:\n",
		`5: streams[0].name: empty; want a name of the characters a–z, 0–9 and -`},
	{`topic: checkout.events`, `topc: checkout.events`,
		`8: streams[checkout].input.topc: unknown key; did you mean "topic"?`},
	{`topic: checkout.events`, `topic: check out`,
		`8: streams[checkout].input.topic: "check out"; want the name of a topic: 1–249 of the characters a–z, A–Z, 0–9, ` +
			`., _ and -`},
	{`topic: checkout.events`, `topic: ..`,
		`8: streams[checkout].input.topic: ".."; want the name of a topic: 1–249 of the characters a–z, A–Z, 0–9, ., _ and ` +
			`-`},
	{"      topic: checkout.events\n", ``,
		`8: streams[checkout].input.topic: missing; add it, for example topic: checkout.events (the topic that holds the ` +
			`events)`},
	{`format: json`, `format: avro`,
		`8: streams[checkout].input.schema: missing; add it, for example schema: {file: checkout.avsc} (the schema of the ` +
			`records)`},
	{`format: json`, `format: xml`,
		`9: streams[checkout].input.format: "xml"; want json, csv, cloudevents, avro, protobuf, otlp_traces, otlp_logs or otlp_metrics`},
	{`format: json`, `format: otlp_proto`,
		`9: streams[checkout].input.format: "otlp_proto" is unknown; did you mean otlp_traces, otlp_logs or otlp_metrics?`},
	{`format: json`, `format: OTLP`,
		`9: streams[checkout].input.format: "OTLP" is unknown; did you mean otlp_traces, otlp_logs or otlp_metrics?`},
	{`format: json`, `format: otlp_trace`,
		`9: streams[checkout].input.format: "otlp_trace" is unknown; did you mean "otlp_traces"?`},
	{`format: json`, `format: cloudevents`,
		"10: streams[checkout].input.user: \"user_id\"; want an attribute of the event, such as subject, or a field " +
			"of its data, such as data.user_id\n11: streams[checkout].input.value: \"latency_ms\"; want an attribute " +
			"of the event, such as subject, or a field of its data, such as data.latency_ms"},
	{`format: json`, `schema: registry`,
		`9: streams[checkout].input.schema: it means nothing without format: avro or protobuf; add that, or remove it`},
	{`format: json`, `schem: {}`,
		`9: streams[checkout].input.schem: unknown key; did you mean "schema"?`},
	{`format: json`, `columns: [a, b]`,
		`9: streams[checkout].input.columns: it means nothing without format: csv; add that, or remove it`},
	{`format: json`, `delimiter: ";"`,
		`9: streams[checkout].input.delimiter: it means nothing without format: csv; add that, or remove it`},
	{`format: json`, `format: csv`,
		`8: streams[checkout].input.columns: missing; add it, for example columns: [ts, user_id, latency_ms] (the names of ` +
			`the columns, in order)`},
	{`format: json`, "format: csv\n      columns: [ts, user_id, latency]",
		"12: streams[checkout].input.value: \"latency_ms\" is not one of the columns; want ts, user_id or latency\n" +
			"14: streams[checkout].input.group: \"region\" is not one of the columns; want ts, user_id or latency"},
	{`format: json`, "format: csv\n      columns: [ts, ts, user_id, latency_ms, region]",
		`10: streams[checkout].input.columns[1]: "ts" is in the list twice; remove one`},
	{`format: json`, "format: csv\n      columns: [ts, user_id, latency_ms, region]\n      delimiter: \"ab\"",
		`11: streams[checkout].input.delimiter: "ab"; want one character other than a quote or a line break, for example ` +
			`";"`},
	{"format: json", "format: otlp_metrics",
		`8: streams[checkout].input.where: it does not say which metric; want metric.name, such as {metric.name: cart.total}`},
	{"format: json\n      user: user_id\n      value: latency_ms\n      time: ts\n",
		"format: otlp_traces\n      user: span.kind\n      value: span.end_time_unix_nano\n      time: $timestamp\n",
		"10: streams[checkout].input.user: \"span.kind\"; it cannot be the user; want an attribute\n" +
			"11: streams[checkout].input.value: \"span.end_time_unix_nano\"; it cannot be the value; want a number\n" +
			"12: streams[checkout].input.time: \"$timestamp\"; when a record was sent depends on whose items are in it with " +
			"this one; want a field of the span"},
	{"format: json\n      user: user_id\n      value: latency_ms\n      time: ts\n",
		"format: otlp_logs\n      user: user.id\n      value: log.body[ms]\n      where: {span.kind: server, 'scope.attributes[x]': 1}\n",
		"11: streams[checkout].input.value: \"log.body[ms]\"; want a key of the body in quotes, such as log.body[\"ms\"]\n" +
			"12: streams[checkout].input.where.scope.attributes[x]: \"scope.attributes[x]\"; want the name of an attribute in " +
			"quotes, such as scope.attributes[\"user.id\"]\n" +
			"12: streams[checkout].input.where.span.kind: \"span.kind\"; otlp_logs has no such field; want one of …"},
	{"format: json\n      user: user_id\n      value: latency_ms\n      time: ts\n",
		"format: otlp_traces\n      user: user.id\n      where: {span.kind: [server, SERVER], span.status.code: 2, span.root: yes, " +
			"span.duration_ms: {not: '5'}, span.duration_s: slow, span.name: {above: 1}, scope.version: 2, n: '5'}\n",
		"11: streams[checkout].input.where.scope.version: \"scope.version\"; it is a text, and never the number 2; write \"2\"\n" +
			"11: streams[checkout].input.where.span.duration_ms: \"span.duration_ms\"; it is a number, and never the text " +
			"\"5\"; write 5\n" +
			"11: streams[checkout].input.where.span.duration_s: \"span.duration_s\"; it is a number, and never \"slow\"; want " +
			"a number\n" +
			"11: streams[checkout].input.where.span.kind: \"span.kind\"; it is never \"SERVER\"; want unspecified, internal, " +
			"server, client, producer or consumer\n" +
			"11: streams[checkout].input.where.span.name: \"span.name\"; it is no number, so nothing is above or below it\n" +
			"11: streams[checkout].input.where.span.root: \"span.root\"; it is never \"yes\"; want true or false\n" +
			"11: streams[checkout].input.where.span.status.code: \"span.status.code\"; it is never 2; want unset, ok or error"},
	{"format: json\n      user: user_id\n      value: latency_ms\n", "format: otlp_logs\n      user: user.id\n",
		"8: streams[checkout].input.value: missing; add it, for example value: latency_ms (the field that holds the number, or a " +
			"text that is one, such as `\"12.30\"`); or contribution: count, which needs none"},
	{"      time: ts\n", "      time: ts\n      where: checkout\n",
		`13: streams[checkout].input.where: "checkout"; want a mapping of fields and what they must be, for example {type: checkout}`},
	{"      time: ts\n", "      time: ts\n      where: {$key: a, b..c: 1, d: , e: 007, f: {above: x}, g: {}, h: {not: a, exists: true}}\n",
		"13: streams[checkout].input.where.$key: \"$key\" is no field; want a field of the event\n" +
			"13: streams[checkout].input.where.b..c: \"b..c\" has an empty part; want a field, for example user.id\n" +
			"13: streams[checkout].input.where.d: empty; want a text, a number, a list of these, or a mapping such as {above: 0}\n" +
			"13: streams[checkout].input.where.e: 007 begins with a 0, which some YAML readers take as octal; write 7, or '007' for a text\n" +
			"13: streams[checkout].input.where.f.above: \"x\" is not a number; want a number, for example 12.5\n" +
			"13: streams[checkout].input.where.g: 0 tests; want not, exists, or above and below\n" +
			"13: streams[checkout].input.where.h: 2 tests; want not, exists, or above and below"},
	{"      time: ts\n", "      time: ts\n      where: {a: {above: 2, below: 1}, b: [], c: [[1]]}\n",
		"13: streams[checkout].input.where.a: no number is above 2 and below 1; want above less than below\n" +
			"13: streams[checkout].input.where.b: an empty list; want a list of texts and numbers\n" +
			"13: streams[checkout].input.where.c[0]: a list; want a text or a number"},
	{"      time: ts\n", "      time: ts\n      where: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1}\n",
		"13: streams[checkout].input.where: 9 keys; want at most 8"},
	{`format: json`, "format: csv\n      columns: [ts, user_id, latency_ms, region]\n      where: {kind: 1}",
		`11: streams[checkout].input.where.kind: "kind" is not one of the columns; want ts, user_id, latency_ms or region`},
	{`format: json`, "format: csv\n      columns: [ts, user_id, latency_ms, region]\n      time_of_day: clock",
		`11: streams[checkout].input.time_of_day: "clock" is not one of the columns; want ts, user_id, latency_ms or region`},
	{`format: json`, `zone: Berlin`, `9: streams[checkout].input.zone: "Berlin"; want the name of a time zone of the IANA ` +
		`database, for example Europe/Berlin`},
	{"      time: ts\n", "      time_of_day: clock\n      zone: Europe/Berlin\n",
		"12: streams[checkout].input.time_of_day: \"clock\", but time is $timestamp; want the field of the date as time\n" +
			"13: streams[checkout].input.zone: \"Europe/Berlin\", but time is $timestamp, which has no zone; remove it, or " +
			"name the field of the time"},
	{"      user: user_id\n", ``,
		`8: streams[checkout].input.user: missing; add it, for example user: user_id (the field that says whose value it ` +
			`is)`},
	{`user: user_id`, `user: $value`,
		`10: streams[checkout].input.user: "$value"; want a field, or $key for the record's key`},
	{`user: user_id`, `user: user..id`,
		`10: streams[checkout].input.user: "user..id" has an empty part; want a field, for example user.id`},
	{`value: latency_ms`, `value: $key`,
		`11: streams[checkout].input.value: "$key"; want a field, or $value for a bare number`},
	{`value: latency_ms`, `value: $value`,
		"10: streams[checkout].input.user: \"user_id\", but value is $value: a bare number has no fields; want $key\n" +
			"12: streams[checkout].input.time: \"ts\", but value is $value: a bare number has no fields; want " +
			"$timestamp\n13: streams[checkout].input.group: \"region\", but value is $value: a bare number has no " +
			"fields; want no group"},
	{`time: ts`, `time: $now`,
		`12: streams[checkout].input.time: "$now"; want a field, or $timestamp for the record's timestamp`},
	{`group: region`, `group: $key`,
		`13: streams[checkout].input.group: "$key"; want a field`},
	{"      group: region\n", ``,
		`15: streams[checkout].groups: input.group does not say which field holds the group; set it, or remove groups`},
	{`max_future: 5m`, `max_future: -5m`,
		`14: streams[checkout].input.max_future: -5m is less than 0s; want a duration of whole seconds, for example 15m`},
	{`max_future: 5m`, `max_future: 5 minutes`,
		`14: streams[checkout].input.max_future: 5 minutes is not a duration; write 5m`},
	{`max_future: 5m`, `max_future: 1.5s`,
		`14: streams[checkout].input.max_future: 1.5s has a fraction of a second; want a duration of whole seconds, for ` +
			`example 15m`},
	{`max_future: 5m`, `user_partitioned: maybe`,
		`14: streams[checkout].input.user_partitioned: "maybe"; want true or false`},
	{"    groups: [eu, us, ap]\n", ``,
		`5: streams[checkout].groups: missing; want the public list of groups that "region" may hold, or {discover: …} to ` +
			`find them`},
	{`groups: [eu, us, ap]`, `groups: []`,
		`16: streams[checkout].groups: an empty list; want a list of names of groups`},
	{`groups: [eu, us, ap]`, `groups: eu`,
		`16: streams[checkout].groups: "eu" is not a list; write [eu]`},
	{`groups: [eu, us, ap]`, `groups: [eu, eu]`,
		`16: streams[checkout].groups[1]: "eu" is in the list twice; remove one`},
	{`groups: [eu, us, ap]`, `groups: [eu, 'eu ']`,
		`16: streams[checkout].groups: "eu" and "eu " are the same name without spaces at its ends and in Unicode's form ` +
			`NFC; want it once`},
	{`groups: [eu, us, ap]`, `groups: [/a/b, '%2Fa%2Fb']`,
		`16: streams[checkout].groups: "/a/b" and "%2Fa%2Fb" would have the same key in records, %2Fa%2Fb; want one of them`},
	{`groups: [eu, us, ap]`, `groups: [eu, ""]`,
		`16: streams[checkout].groups[1]: ""; want a name of 1–200 characters`},
	{`groups: [eu, us, ap]`, `groups: [eu, {us: 1}]`,
		`16: streams[checkout].groups[1]: a mapping; want a name of 1–200 characters`},
	{`max_groups: 1`, `max_windows: 8`,
		`17: streams[checkout].max_windows: 8; want {count: …, per: …}`},
	{`max_groups: 1`, `max_windows: {count: 3, per: 24h}`,
		`17: streams[checkout].max_windows.count: 3; want from 4 to 1000000000, because a period reaches into 4 parts, and ` +
			`a user counts in a window of each`},
	{`max_groups: 1`, `max_windows: {count: 8, per: 5m}`,
		`17: streams[checkout].max_windows.per: 5m; want from 15m, the size of a window, to 3660d`},
	{`max_groups: 1`, `max_windows: {count: 9000, per: 24h, parts: 2000}`,
		`17: streams[checkout].max_windows.parts: 2000; want a whole number from 1 to 1000`},
	{`max_groups: 1`, `max_windows: {per: 24h}`,
		`17: streams[checkout].max_windows.count: missing; add it, for example count: 8 (in how many windows of any period ` +
			`one user counts at most)`},
	{`max_groups: 1`, `max_windows: {count: 8, per: forever}`,
		`17: streams[checkout].max_windows.per: "forever" is not a duration; want a duration of whole seconds, for example ` +
			`15m`},
	{`max_groups: 1`, `max_groups: 4`,
		`17: streams[checkout].max_groups: 4, but groups has 3 names; want at most 3`},
	{`max_groups: 1`, `max_groups: 0`,
		`17: streams[checkout].max_groups: 0; want a whole number of groups of at least 1`},
	{`max_groups: 1`, `max_groups: 1.5`,
		`17: streams[checkout].max_groups: 1.5; want a whole number of groups of at least 1`},
	{`bounds: {lower: 0, upper: 60000, step: 1, prior: cells}`, `boundz: {lower: 0, upper: 60000, step: 1}`,
		`18: streams[checkout].boundz: unknown key; did you mean "bounds"?`},
	{`{lower: 0, upper: 60000, step: 1, prior: cells}`, `[0, 60000, 1]`,
		`18: streams[checkout].bounds: a list; want {lower: …, upper: …, step: …}`},
	{`step: 1,`, `step: ,`,
		`18: streams[checkout].bounds.step: empty; want a number greater than 0`},
	{"    bounds: {lower: 0, upper: 60000, step: 1, prior: cells}\n", ``,
		`5: streams[checkout].bounds: missing; add it, for example bounds: {lower: 0, upper: 60000, step: 1} (the public ` +
			`range of what one user counts with in a window)`},
	{`lower: 0, upper: 60000`, `upper: 60000`,
		`18: streams[checkout].bounds.lower: missing; add it, for example lower: 0 (the lowest value)`},
	{`lower: 0, upper: 60000`, `lower: 60000, upper: 0`,
		`18: streams[checkout].bounds.upper: 0; want more than lower, which is 60000`},
	{`lower: 0, upper: 60000`, `lower: 0, upper: 1e999999999`,
		`18: streams[checkout].bounds.upper: 1e999999999 is too long; want a number of at most 60 digits`},
	{`step: 1,`, `step: 7,`,
		`18: streams[checkout].bounds.upper: 60000; want lower plus a multiple of the step, 7, for example 59997 or 60004`},
	{`step: 1,`, `step: 0,`,
		`18: streams[checkout].bounds.step: 0; want a number greater than 0`},
	{`step: 1,`, `step: .inf,`,
		`18: streams[checkout].bounds.step: ".inf" is not a number; want a number greater than 0`},
	{`step: 1,`, ``,
		`18: streams[checkout].bounds.step: missing; add it, for example step: 1 (the distance between values that can be ` +
			`published)`},
	{`prior: cells`, `prior: log`,
		`18: streams[checkout].bounds.prior: "log"; want adaptive, tapered, cells or uniform`},
	{`expected_users: 5000`, `expected_users: many`,
		`19: streams[checkout].expected_users: "many" is not a number; want a whole number of users of at least 1`},
	{"    window: {size: 15m, every: 15m, grace: 30s, start: now}\n", ``,
		`5: streams[checkout].window: missing; add it, for example window: {size: 15m, grace: 30s} (the windows of time ` +
			`for which figures are published)`},
	{`size: 15m, every: 15m`, `size: 15, every: 15m`,
		`20: streams[checkout].window.size: 15 has no unit; write 15s, 15m, 15h or 15d`},
	{`size: 15m, every: 15m`, `size: 15m, every: 7m`,
		`20: streams[checkout].window.size: 15m is not a multiple of every, which is 7m; want 14m or 21m`},
	{`size: 15m, every: 15m`, `size: 15m, every: 30m`,
		`20: streams[checkout].window.every: 30m is longer than size, which is 15m: events between windows would be lost; ` +
			`want at most 15m`},
	{`size: 15m, every: 15m`, `size: 0s`,
		`20: streams[checkout].window.size: 0s is less than 1s; want a duration of whole seconds, for example 15m`},
	{`size: 15m, every: 15m`, `size: 90000d`,
		`20: streams[checkout].window.size: 90000d; want from 1s to 3660d`},
	{`size: 15m, every: 15m`, `size: 9999999d`,
		`20: streams[checkout].window.size: 9999999d is too long; want less than 292 years`},
	{`grace: 30s, start: now`, `start: now`,
		`20: streams[checkout].window.grace: missing; add it, for example grace: 30s (how long a window waits for late ` +
			`events after its end)`},
	{`grace: 30s, start: now`, `grace: -1s, start: now`,
		`20: streams[checkout].window.grace: -1s is less than 0s; want a duration of whole seconds, for example 15m`},
	{`grace: 30s, start: now`, `grace: 0.5s, start: now`,
		`20: streams[checkout].window.grace: 0.5s has a fraction of a second; want a duration of whole seconds, for ` +
			`example 15m`},
	{`start: now`, `start: soon`,
		`20: streams[checkout].window.start: "soon"; want a time of whole seconds, for example 2026-11-20T08:00:00Z, or now`},
	{`start: now`, `start: 2026-11-20T08:07:00Z`,
		`20: streams[checkout].window.start: 2026-11-20T08:07:00Z is not a multiple of every (15m) since 1970; want ` +
			`2026-11-20T08:00:00Z or 2026-11-20T08:15:00Z`},
	{`start: now`, `start: 2026-11-20T08:00:00.5Z`,
		`20: streams[checkout].window.start: 2026-11-20T08:00:00.5Z; want a time of whole seconds, for example ` +
			`2026-11-20T08:00:00Z, or now`},
	{`start: now`, `start: now, end: 2026-11-20T08:07:00Z`,
		`20: streams[checkout].window.end: 2026-11-20T08:07:00Z is not a multiple of every (15m) since 1970; want ` +
			`2026-11-20T08:00:00Z or 2026-11-20T08:15:00Z`},
	{`start: now`, `start: 2026-11-20T08:00:00Z, end: 2026-11-20T08:00:00Z`,
		`20: streams[checkout].window.end: 2026-11-20T08:00:00Z is before the end of the first window; want ` +
			`2026-11-20T08:15:00Z or later`},
	{`start: now`, `start: now, end: 1970-01-01T00:00:00Z`,
		`20: streams[checkout].window.end: 1970-01-01T00:00:00Z is too early; want the end of a window`},
	{`start: now`, `stat: now`,
		`20: streams[checkout].window.stat: unknown key; did you mean "start"?`},
	{`contribution: last`, `contribution: latest`,
		`21: streams[checkout].contribution: "latest" is unknown; did you mean "last"?`},
	{`- {name: p50, statistic: median, epsilon: 0.05}`, `- p50`,
		`23: streams[checkout].releases[0]: "p50"; want {name: …, statistic: …, epsilon: …}`},
	{p50, `{name: p.50, statistic: median, epsilon: 0.05}`,
		`23: streams[checkout].releases[p.50].name: "p.50"; want a name of 1–200 characters without / and .`},
	{p50, `{statistic: median, epsilon: 0.05}`,
		`23: streams[checkout].releases[0].name: missing; add it, for example name: p50 (the name of the figure)`},
	{p50, `{name: p90, statistic: median, epsilon: 0.05}`,
		`24: streams[checkout].releases[p90]: the name "p90" is taken by another release; choose another name`},
	{p50, `{name: p50, epsilon: 0.05}`,
		`23: streams[checkout].releases[p50].statistic: missing; want median, quantile, quantiles, mode, mean, sum, ` +
			`trimmed_mean, variance, stddev, count, outside, histogram or share`},
	{p50, `{name: p50, statistic: median}`,
		`23: streams[checkout].releases[p50].epsilon: missing; add it, for example epsilon: 0.05 (what one draw costs a ` +
			`user, in ε)`},
	{p50, `{name: p50, statistic: medium, epsilon: 0.05}`,
		`23: streams[checkout].releases[p50].statistic: "medium" is not a statistic; did you mean median?`},
	{p50, `{name: p50, statistic: median, epsilon: 0}`,
		`23: streams[checkout].releases[p50].epsilon: 0; want a number greater than 0`},
	{p50, `{name: p50, statistic: median, epsilon: -0.05}`,
		`23: streams[checkout].releases[p50].epsilon: -0.05; want a number greater than 0`},
	{p50, `{name: p50, statistic: median, epsilon: 0.05, p: 0.5}`,
		`23: streams[checkout].releases[p50].p: median has no p; remove it, or use statistic: quantile or quantiles`},
	{p50, `{name: p50, statistic: median, epsilon: 0.05, trim: 0.1}`,
		`23: streams[checkout].releases[p50].trim: median has no trim; remove it, or use statistic: trimmed_mean`},
	{p50, `{name: p50, statistic: median, epsilon: 0.05, above: 3}`,
		`23: streams[checkout].releases[p50].above: median has no above; remove it, or use statistic: count or share`},
	{p50, `{name: p50, statistic: mode, epsilon: 0.05, tilt: [1, 2]}`,
		`23: streams[checkout].releases[p50].tilt: mode has no tilt; remove it, or use statistic: median or quantile`},
	{p50, `{name: p50, statistic: median, epsilon: 0.05, delta: 0.001}`,
		`23: streams[checkout].releases[p50].delta: …`},
	{p50, `{name: p50, statistic: median, epsilon: 0.05, tilt: [1]}`,
		`23: streams[checkout].releases[p50].tilt: a list of 1 item; want a list of two whole numbers, for example [1, 3]`},
	{p50, `{name: p50, statistic: median, epsilon: 0.05, tilt: [1, 0]}`,
		`23: streams[checkout].releases[p50].tilt[1]: 0; want a whole number of at least 1`},
	{p50, `{name: p50, statistic: median, epsilon: 0.05, mechanism: marginal}`,
		`23: streams[checkout].releases[p50].mechanism: …`},
	{p50, `{name: p50, statistic: median, epsilon: 0.05, calibration: loose}`,
		`23: streams[checkout].releases[p50].calibration: "loose"; want tight or published`},
	{p50, `{name: p50, statistic: median, epsilon: 0.05, colour: red}`,
		`23: streams[checkout].releases[p50].colour: unknown key; want name, statistic, from, epsilon, mechanism, delta, p, ` +
			`trim, clip, above, below, buckets, levels, tilt, calibration, beta, gamma, interval, rollup, last, objective, publish, ` +
			`tolerance, watch_epsilon, at_most, since, zone, update, max_total or active`},
	{`p: 0.9, epsilon: 0.05`, `epsilon: 0.05`,
		`24: streams[checkout].releases[p90].p: missing; add it, for example p: 0.99 (which quantile)`},
	{`p: 0.9, epsilon: 0.05`, `p: 90, epsilon: 0.05`,
		`24: streams[checkout].releases[p90].p: 90 is too much; want a number greater than 0 and less than 1: 0.9 for 90 %`},
	{`p: 0.9, epsilon: 0.05`, `p: [0.9], epsilon: 0.05`,
		`24: streams[checkout].releases[p90].p: a list; want one number, or statistic: quantiles`},
	{`statistic: quantile, p: 0.9, epsilon: 0.05`, `statistic: quantiles, p: 0.9, epsilon: 0.05`,
		`24: streams[checkout].releases[p90].p: 0.9 is not a list; write [0.9]`},
	{`statistic: quantile, p: 0.9, epsilon: 0.05`, `statistic: quantiles, p: [0.99, 0.9], epsilon: 0.05`,
		`24: streams[checkout].releases[p90].p[1]: 0.9 follows 0.99; want ascending numbers, each once`},
	{`statistic: quantile, p: 0.9, epsilon: 0.05`, `statistic: quantiles, p: [], epsilon: 0.05`,
		`24: streams[checkout].releases[p90].p: an empty list; want a list of numbers greater than 0 and less than 1, for ` +
			`example [0.9, 0.99]`},
	{`statistic: quantile, p: 0.9, epsilon: 0.05`, `statistic: trimmed_mean, epsilon: 0.05`,
		`24: streams[checkout].releases[p90].trim: missing; add it, for example trim: 0.05 (the fraction of the users that ` +
			`is left out at each end)`},
	{`statistic: quantile, p: 0.9, epsilon: 0.05`, `statistic: trimmed_mean, trim: 0.5, epsilon: 0.05`,
		`24: streams[checkout].releases[p90].trim: 0.5; want a number of at least 0 and less than 0.5`},
	{`above: 800, epsilon`, `above: 800, below: 700, epsilon`,
		`26: streams[checkout].releases[slow].above: …`},
	{`above: 800, epsilon`, `above: fast, epsilon`,
		`26: streams[checkout].releases[slow].above: "fast" is not a number; want a number, for example 12.5`},
	{`{count: 50, release: users}`, `{count: 50}`,
		`27: streams[checkout].min_users.release: missing; add it, for example release: users (the name of the release ` +
			`that counts the users)`},
	{`{count: 50, release: users}`, `{count: 0, release: users}`,
		`27: streams[checkout].min_users.count: 0; want a whole number of users of at least 1`},
	{`{count: 50, release: users}`, `{count: 50, release: slow}`,
		`27: streams[checkout].min_users.release: "slow" does not count all users of a window; want the name of a count ` +
			`release without above and below`},
	{`{count: 50, release: users}`, `{count: 50, release: p50}`,
		`27: streams[checkout].min_users.release: "p50" does not count all users of a window; want the name of a count ` +
			`release without above and below`},
	{`{count: 50, release: users}`, `{count: 50, release: people}`,
		`27: streams[checkout].min_users.release: "people" is not a release of this stream; want the name of a count ` +
			`release without above and below`},
	{`rejects: {topic: checkout.rejects}`, `rejects: checkout.rejects`,
		`28: streams[checkout].rejects: "checkout.rejects" is not a mapping; write {topic: checkout.rejects}`},
	{`rejects: {topic: checkout.rejects}`, `rejects: {topic: checkout.private}`,
		`28: streams[checkout].rejects.topic: "checkout.private" is the output of a stream; want another topic, because ` +
			`copies of events are personal`},
	{`late: {topic: checkout.late}`, `late: {topic: checkout.events}`,
		`29: streams[checkout].late.topic: "checkout.events" is the input of a stream; want another topic, because copies ` +
			`of events are personal`},
	{`late: {topic: checkout.late}`, `late: {topic: checkout.private}`,
		`29: streams[checkout].late.topic: "checkout.private" is the output of a stream; want another topic, because ` +
			`copies of events are personal`},
	{`late: {topic: checkout.late}`, `late: {topik: a}`,
		`29: streams[checkout].late.topik: unknown key; did you mean "topic"?`},
	{`output: {topic: checkout.private}`, `output: {topic: checkout.events}`,
		`30: streams[checkout].output.topic: "checkout.events" is the input of a stream; want another topic: releases must ` +
			`not mix with personal events`},
	{`output: {topic: checkout.private}`, `output: {topic: checkout.private, format: xml}`,
		`30: streams[checkout].output.format: "xml"; want json or avro`},
	{"    output: {topic: checkout.private}\n", ``,
		`5: streams[checkout].output: missing; add it, for example output: {topic: checkout.private} (where the figures ` +
			`are published)`},
	{`budget: shoppers`, `budget: shopper`,
		`31: streams[checkout].budget: "shopper" is not one of the budgets; did you mean "shoppers"?`},
	{`budget: shoppers`, `budget: all`,
		`31: streams[checkout].budget: "all" is not one of the budgets; want shoppers`},
	{"    budget: shoppers\n", ``,
		`5: streams[checkout].budget: missing; add it, for example budget: shoppers (what pays for the windows)`},
	{`budget: shoppers`, `budget: {epsilon: 24}`,
		`31: streams[checkout].budget.per: missing; add it, for example per: 24h (the rolling period)`},
	{`budget: shoppers`, `budget: {epsilon: 24, per: 24h, name: shoppers}`,
		`31: streams[checkout].budget.name: unknown key; want epsilon, delta, order or per`},
	{`budget: shoppers`, `budget: {epsilon: 2, per: 24h}`,
		`31: streams[checkout].budget: budget "checkout" (ε 2 per 24h) pays for only 15 windows of the schedule; want an ` +
			`epsilon of at least 12.48, fewer or cheaper releases, or on_exhausted: withhold`},
	{`budget: shoppers`, `budget: {epsilon: 2, per: forever}`,
		`31: streams[checkout].budget: budget "checkout" (ε 2 forever) pays for only 15 windows of the schedule, which has ` +
			`no end; want window.end, a budget for a rolling period, or on_exhausted: withhold`},
	{`budget: shoppers`, `budget: {epsilon: 0.1, per: 24h}`,
		`31: streams[checkout].budget: budget "checkout" (ε 0.1) cannot pay for even one window, which costs ε 0.13; want ` +
			`a larger budget, or fewer or cheaper releases`},
	{`budget: shoppers`, `budget: {epsilon: 24, per: 5m}`,
		`31: streams[checkout].budget: budget "checkout" has a period of 5m, but a window lasts 15m; want per: 15m or ` +
			`longer`},
	{`on_exhausted: refuse`, `on_exhausted: stop`,
		`32: streams[checkout].on_exhausted: "stop"; want refuse or withhold`},
	{`on_exhausted: refuse`, `fresh: yes`,
		`32: streams[checkout].fresh: "yes" is not true or false; write true`},
	{`on_exhausted: refuse`, "fresh: true\n    continues: old",
		`33: streams[checkout].continues: "old", but fresh is true; use one or the other`},
	{`on_exhausted: refuse`, `continues: shoppers`,
		`32: streams[checkout].continues: "shoppers" is the stream's own budget; want the name of a former one`},
	{`on_exhausted: refuse`, `continues: a/b`,
		`32: streams[checkout].continues: "a/b"; want a name of 1–200 of the characters a–z, A–Z, 0–9, ., _ and -`},
	{`description: time to confirm an order`, `description: ${TITLE}`,
		`6: streams[checkout].description: the environment variable TITLE is not set; set it, or write the value instead ` +
			`of ${TITLE}`},
	{`description: time to confirm an order`, `description: ${2}`,
		`6: streams[checkout].description: ${2} is not the name of a variable; want ${NAME} of letters, digits and _`},
	{`description: time to confirm an order`, `description: [a`,
		`6: this line does not fit those before it: did not find expected ',' or ']'; check its indentation, its brackets ` +
			`and its quotes`},
	{`description: time to confirm an order`, "description: a\n---\nb: c",
		`1: a second YAML document; want a streams file, which is one document`},
}

func TestWrong(t *testing.T) {
	if _, err := File("right.yaml", []byte(right), noVariables); err != nil {
		t.Fatalf("the file that the others are made from is wrong itself: %v", err)
	}
	for _, c := range wrongEdits {
		t.Run(c.new, func(t *testing.T) {
			if n := strings.Count(right, c.old); n != 1 {
				t.Fatalf("%q occurs %d times", c.old, n)
			}
			_, err := File("s.yaml", []byte(strings.Replace(right, c.old, c.new, 1)), noVariables)
			if err == nil {
				t.Fatalf("accepted; want %s", c.want)
			}
			got := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\ns.yaml:", "\n"), "s.yaml:")
			want, foreign := strings.CutSuffix(c.want, "…")
			if got != want && (!foreign || !strings.HasPrefix(got, want) || len(got) == len(want)) {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func noVariables(string) (string, bool) { return "", false }
