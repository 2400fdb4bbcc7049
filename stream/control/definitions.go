package control

import (
	"fmt"
	"strings"
	"sync"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
)

// definitions turns recorded definitions into streams, each once. It is safe for concurrent use.
type definitions struct {
	mutex sync.Mutex
	read  map[config.Definition]*config.Stream
}

// stream returns the stream of a definition. It fails if a later release wrote it, with keys that this one does not
// know.
func (all *definitions) stream(d config.Definition) (*config.Stream, error) {
	all.mutex.Lock()
	defer all.mutex.Unlock()
	if stream, known := all.read[d]; known {
		return stream, nil
	}
	stream, err := parse.Definition(d)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("the control topic has a definition that this release of louver cannot read (%s); "+
			"run the release that wrote it, or a newer one", first)
	}
	if all.read == nil {
		all.read = map[config.Definition]*config.Stream{}
	}
	all.read[d] = stream
	return stream, nil
}
