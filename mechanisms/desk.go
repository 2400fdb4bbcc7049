package mechanisms

import (
	"io"
	"sync"

	"github.com/louver/louver/mechanisms/exact"
)

// desk is what one draw works with.
type desk struct {
	source  exact.Source
	survey  survey
	weights []float64
	values  []int64
	counts  []int64
}

// desks keeps desks for later draws, since most of what a draw would allocate is memory of the same kind and size. The
// zero value is ready for use; it is safe for concurrent use.
type desks struct{ pool sync.Pool }

// take returns a desk with the random bits of a reader.
func (d *desks) take(random io.Reader) *desk {
	k, ok := d.pool.Get().(*desk)
	if !ok {
		k = &desk{}
	}
	k.source.Reset(random)
	return k
}

// put takes a desk back. It keeps neither the reader nor anything of the sample.
func (d *desks) put(k *desk) {
	k.source.Reset(nil)
	k.survey.leveller, k.survey.walk, k.survey.keeper, k.survey.unseen = nil, nil, nil, nil
	d.pool.Put(k)
}
