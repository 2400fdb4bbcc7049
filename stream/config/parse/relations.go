package parse

import "github.com/louver/louver/stream/config"

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
