package release

import (
	"io"

	"github.com/louver/louver/mechanisms"
)

// alarm makes the instances of a watch. [mechanisms.Watch] does, by way of alarmOf; tests have others.
type alarm interface {
	Arm(random io.Reader) (armed, error)
	Resume(secret []byte) (armed, error)
}

// armed is an armed instance, as [mechanisms.Armed] is.
type armed interface {
	Look(groups []*mechanisms.Sample, random io.Reader) (group int, err error)
	LookFrom(groups []*mechanisms.Sample, last []int64, random io.Reader) (group int, err error)
	MarshalText() ([]byte, error)
}

type alarmOf struct{ watch *mechanisms.Watch }

func (a alarmOf) Arm(random io.Reader) (armed, error) { return a.watch.Arm(random) }
func (a alarmOf) Resume(secret []byte) (armed, error) { return a.watch.Resume(secret) }

// instance is an armed instance of a watch, and its number.
type instance struct {
	number int64
	armed
}
