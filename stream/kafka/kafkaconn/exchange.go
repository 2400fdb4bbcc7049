package kafkaconn

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Exchange is a request that kafka-go does not know, or gets wrong. franz-go's package kmsg writes it and reads the
// answer, over a connection of kafka-go's.
type Exchange struct {
	// Request has the newest version that is understood. A broker that does not know it gets an older one.
	Request kmsg.Request
	// Least is the oldest version that will do. If it is the newest too, the broker is not asked what it knows.
	Least int16
	// ClientID is the name that brokers see in quotas and logs.
	ClientID string
	// Broker says who gets the request, or Group does: the coordinator of that consumer group. Without them, any broker
	// gets it.
	Broker func(protocol.Cluster) (protocol.Broker, error)
	Group  string
}

// ErrTooOld says that a broker knows a request in no version that will do.
var ErrTooOld = errors.New("the broker is too old")

// Send sends the request once, and returns an answer of its kind. The answer may hold errors.
func (e Exchange) Send(ctx context.Context, client *kafka.Client) (kmsg.Response, error) {
	var request protocol.Message = raw{e}
	switch {
	case e.Broker != nil:
		request = routed{raw{e}}
	case e.Group != "":
		request = grouped{raw{e}}
	}
	m, err := client.Transport.RoundTrip(ctx, client.Addr, request)
	if err != nil {
		return nil, err
	}
	return m.(answer).Response, nil
}

// raw is an Exchange as kafka-go sends it to any broker, routed to one of them, and grouped to a group's coordinator.
type (
	raw     struct{ Exchange }
	routed  struct{ raw }
	grouped struct{ raw }
)

var (
	_ protocol.RawExchanger  = raw{}
	_ protocol.BrokerMessage = routed{}
	_ protocol.GroupMessage  = grouped{}
)

// answer is what comes back.
type answer struct{ kmsg.Response }

func (r raw) ApiKey() protocol.ApiKey    { return protocol.ApiKey(r.Request.Key()) }
func (a answer) ApiKey() protocol.ApiKey { return protocol.ApiKey(a.Key()) }

func (r routed) Broker(c protocol.Cluster) (protocol.Broker, error) { return r.Exchange.Broker(c) }
func (g grouped) Group() string                                     { return g.Exchange.Group }

// Required always takes over the exchange.
func (raw) Required(map[protocol.ApiKey]int16) bool { return true }

const (
	correlation = 1 // any will do: a connection carries one request at a time
	mostAnswer  = 16 << 20
)

// RawExchange writes the request and reads the answer.
func (r raw) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if r.Least < r.Request.GetVersion() {
		newest, err := r.newest(rw)
		if err != nil {
			return nil, err
		}
		if newest < r.Least {
			return nil, ErrTooOld
		}
		r.Request.SetVersion(min(newest, r.Request.GetVersion()))
	}
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(r.ClientID))
	if _, err := rw.Write(format.AppendRequest(nil, r.Request, correlation)); err != nil {
		return nil, err
	}
	var size int32
	if err := binary.Read(rw, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	header := 4 // the correlation
	if r.Request.IsFlexible() {
		header++ // the number of tags, which is 0
	}
	if int(size) < header || size > mostAnswer {
		return nil, fmt.Errorf("answer of %d bytes; want %d to %d", size, header, mostAnswer)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(rw, body); err != nil {
		return nil, err
	}
	if id := binary.BigEndian.Uint32(body); id != correlation {
		return nil, fmt.Errorf("answer to request %d; want %d", id, correlation)
	}
	response := r.Request.ResponseKind()
	return answer{response}, response.ReadFrom(body[header:])
}

// newest asks for the newest version in which the broker knows the request; −1 if it does not know it.
func (r raw) newest(rw io.ReadWriter) (int16, error) {
	if err := protocol.WriteRequest(rw, 0, correlation, r.ClientID, new(apiversions.Request)); err != nil {
		return 0, err
	}
	_, m, err := protocol.ReadResponse(rw, protocol.ApiVersions, 0)
	if err != nil {
		return 0, err
	}
	for _, k := range m.(*apiversions.Response).ApiKeys {
		if k.ApiKey == r.Request.Key() {
			return k.MaxVersion, nil
		}
	}
	return -1, nil
}

// Coded is the error with a code in an answer; nil for 0.
func Coded(code int16) error {
	if code == 0 {
		return nil
	}
	return kafka.Error(code)
}
