package group

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	wire "github.com/segmentio/kafka-go/protocol/heartbeat"
)

// heartbeat asks a group's coordinator whether a member belongs to its current generation. kafka-go's own request does
// not look up the coordinator, and it misreads the answer: it takes the throttle time for the error code.
type heartbeat struct {
	request  wire.Request
	clientID string
}

// beat is the coordinator's answer.
type beat struct{ code int16 }

var (
	_ protocol.GroupMessage = (*heartbeat)(nil)
	_ protocol.RawExchanger = (*heartbeat)(nil)
)

func (*heartbeat) ApiKey() protocol.ApiKey { return protocol.Heartbeat }
func (*beat) ApiKey() protocol.ApiKey      { return protocol.Heartbeat }

// Group lets the transport find the coordinator.
func (h *heartbeat) Group() string { return h.request.GroupID }

// Required always takes over the exchange.
func (*heartbeat) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange writes the request and reads the answer, both in version 0.
func (h *heartbeat) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	const correlation = 1 // a connection carries one request at a time
	if err := protocol.WriteRequest(rw, 0, correlation, h.clientID, &h.request); err != nil {
		return nil, err
	}
	var answer struct {
		Size, Correlation int32
		Code              int16
	}
	if err := binary.Read(rw, binary.BigEndian, &answer); err != nil {
		return nil, err
	}
	if answer.Size != 6 || answer.Correlation != correlation {
		return nil, fmt.Errorf("heartbeat answer of %d bytes to request %d; want 6 to %d", answer.Size,
			answer.Correlation, correlation)
	}
	return &beat{answer.Code}, nil
}

// error returns the answer's code as an error.
func (b *beat) error() error {
	if b.code == 0 {
		return nil
	}
	return kafka.Error(b.code)
}
