package parse

import (
	"strings"

	"github.com/louver/louver/stream/config"
)

// define writes a stream and the shared budget that it names, if any, as a definition.
func define(s *streamNode, shared *budgetNode) config.Definition {
	var b strings.Builder
	b.WriteString(`{version: 1, `)
	if shared != nil {
		b.WriteString(`budgets: [`)
		shared.Flow(&b)
		b.WriteString(`], `)
	}
	b.WriteString(`streams: [`)
	s.Flow(&b, "description", "fresh", "continues", "window.start", "input.user_partitioned", "releases.objective")
	b.WriteString(`]}`)
	return config.Definition(b.String())
}
