package parse

import (
	"regexp"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// topics checks that events, copies of events and releases are in different topics.
func topics(streams []*streamNode) {
	const output = "the output"
	use := map[string]string{} // by topic
	for _, s := range streams {
		use[s.Input.Topic] = "the input"
	}
	for _, s := range streams {
		if use[s.Output] == "" {
			use[s.Output] = output
		} else if use[s.Output] != output {
			s.topicOf("output").Refuse("%q is %s of a stream; want another topic: releases must not mix with "+
				"personal events", s.Output, use[s.Output])
		}
	}
	formats := map[string]*streamNode{} // the first stream of each output topic
	for _, s := range streams {
		if first := formats[s.Output]; first == nil {
			formats[s.Output] = s
		} else if first.OutputFormat != s.OutputFormat {
			s.Values["output"].Refuse("format %s, but stream %s writes %s into topic %s; want one format in a topic",
				s.OutputFormat, first.Name, first.OutputFormat, s.Output)
		}
	}
	for _, s := range streams {
		for _, copied := range []struct{ key, topic string }{{"rejects", s.Rejects}, {"late", s.Late}} {
			if other := use[copied.topic]; copied.topic != "" && other != "" {
				s.topicOf(copied.key).Refuse("%q is %s of a stream; want another topic, because copies of events "+
					"are personal", copied.topic, other)
			}
		}
	}
}

// continues checks that no budget continues itself.
func continues(streams []*streamNode) {
	for _, s := range streams {
		if s.Continues != "" && s.Continues == s.Budget.Name {
			s.Values["continues"].Refuse("%q is the stream's own budget; want the name of a former one", s.Continues)
		}
	}
}

// periods checks that no rolling budget forgets a window before it is over.
func periods(streams []*streamNode) {
	for _, s := range streams {
		if b, size := s.Budget, config.Duration(s.Window.Size); b.Per > 0 && b.Per < s.Window.Size {
			s.Values["budget"].Refuse("budget %q has a period of %s, but a window lasts %s; want per: %s or longer",
				b.Name, config.Period(b.Per), size, size)
		}
	}
}

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
