package mechanisms

import (
	"io"
	"sync"

	"github.com/louver/louver/mechanisms/exact"
)

// scratch holds the working memory of one draw.
type scratch struct {
	source   exact.Source
	survey   survey
	spread   spread
	messages messages
	weights  []float64
	clipped  intervals
}

// drawOnce checks a sample and draws from it, for a mechanism that needs no working memory.
func drawOnce(s *Sample, random io.Reader, draw func(source *exact.Source) Draw) (Draw, error) {
	if err := s.Check(); err != nil {
		return Draw{}, err
	}
	source := exact.NewSource(random)
	d := draw(source)
	return d, source.Err()
}

// scratches keeps a mechanism's working memory for later draws, because most draws need memory of the same kind and
// size. The zero value is ready for use; it is safe for concurrent use.
type scratches struct{ pool sync.Pool }

// take returns working memory that gets its random bits from a reader.
func (d *scratches) take(random io.Reader) *scratch {
	k, ok := d.pool.Get().(*scratch)
	if !ok {
		k = &scratch{}
	}
	k.source.Reset(random)
	return k
}

// put takes working memory back, and lets go of the reader and of the sample.
func (d *scratches) put(k *scratch) {
	k.source.Reset(nil)
	k.survey.levels, k.survey.walk, k.survey.thinned, k.survey.unseen = nil, nil, nil, nil
	k.spread.sample = nil
	clear(k.spread.placed)
	d.pool.Put(k)
}
