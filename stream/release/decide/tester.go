package decide

import (
	"io"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/watch"
)

// tester makes the instances of a step. testerOf makes one of a [watch.Watch]. Tests have their own.
type tester interface {
	Arm(random io.Reader) (armed, error)
	Resume(secret []byte) (armed, error)
}

// armed is an armed instance, as [watch.Armed] is.
type armed interface {
	Look(groups []*mechanisms.Sample, random io.Reader) (group int, err error)
	LookFrom(groups []*mechanisms.Sample, last []int64, random io.Reader) (group int, err error)
	MarshalText() ([]byte, error)
}

type testerOf struct{ watch *watch.Watch }

func (a testerOf) Arm(random io.Reader) (armed, error) { return a.watch.Arm(random) }
func (a testerOf) Resume(secret []byte) (armed, error) { return a.watch.Resume(secret) }

// instance is an armed instance of a step, and its number.
type instance struct {
	number int64
	armed
}
