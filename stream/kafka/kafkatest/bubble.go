package kafkatest

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/stream/kafka/embedded"
	"github.com/louver/louver/stream/kafka/txn"
)

// Bubble runs f on fake brokers in fake time ([synctest]). The time begins now and goes on whenever everything waits,
// so a test that waits for minutes takes as long as it computes. f runs beside other tests, and must not call t.Run or
// t.Parallel.
//
// Whatever f starts must have ended when its clean-ups are done. If a goroutine waits for a mutex whose holder waits
// for time to pass, the clock stops for ever. Nothing is compressed, and work takes only the time of its requests. So
// some tests must remain in real time.
func Bubble(t *testing.T, f func(t *testing.T, b *Broker)) {
	t.Helper()
	t.Parallel()
	bubble(t, f)
}

// BubbleAndReal runs f as a subtest in a Bubble, and then on a real broker. It runs beside other tests, but its two
// halves come one after the other: a half that gave up its place would wait behind all other tests.
func BubbleAndReal(t *testing.T, f func(t *testing.T, b *Broker)) {
	t.Helper()
	t.Parallel()
	t.Run("fake", func(t *testing.T) { bubble(t, f) })
	t.Run("real", func(t *testing.T) { f(t, Real(t)) })
}

func bubble(t *testing.T, f func(t *testing.T, b *Broker)) {
	t.Helper()
	// The encoder of all producers must not belong to the first bubble that compresses.
	txn.EncodeBatch(txn.Session{}, []txn.Record{{Value: bytes.Repeat([]byte{'x'}, 10_000)}})
	now := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now)) // bubbles begin in 2000
		f(t, inMemory(t))
	})
}

// inMemory starts three fake brokers whose connections are in memory.
func inMemory(t *testing.T) *Broker {
	t.Helper()
	var network kfake.VirtualNetwork
	listen := func(proto, addr string) (net.Listener, error) {
		l, err := network.Listen(proto, addr)
		return distant{l}, err
	}
	cluster, err := embedded.Start(listen, kfake.Ports(9092, 9093, 9094))
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, cluster)
	b := &Broker{Fake: cluster, dial: func(ctx context.Context, proto, addr string) (net.Conn, error) {
		conn, err := network.DialContext(ctx, proto, addr)
		if err != nil && ctx.Err() == nil { // the error that TCP would give: only network errors are retried
			err = &net.OpError{Op: "dial", Net: proto, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		return conn, err
	}}
	t.Cleanup(func() {
		cluster.Close()
		time.Sleep(time.Minute) // pools of connections end by time
		b.Conn.Close()
		time.Sleep(time.Minute)
	})
	b.connect(t, cluster.ListenAddrs())
	return b
}

// distant is a listener whose answers take up to two milliseconds. Otherwise no time would pass while a service works,
// and a service that a test stops at a random moment would always be idle. The broker waits, because clients hold
// mutexes while they write.
type distant struct{ net.Listener }

func (l distant) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return late{conn}, err
}

type late struct{ net.Conn }

func (c late) Write(b []byte) (int, error) {
	time.Sleep(rand.N(2 * time.Millisecond))
	return c.Conn.Write(b)
}

// rewrite makes a cluster keep batches without compression. kfake unpacks some batches itself, with a decoder whose
// finalizer closes a channel. If the channel belongs to a bubble, that ends the process. It also makes the brokers tell
// their time in topics with LogAppendTime: kfake looks at the batch and not at the topic.
func rewrite(t *testing.T, cluster *kfake.Cluster) {
	t.Helper()
	unzstd, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	tellsTime := map[string]bool{}
	cluster.ControlKey(int16(kmsg.CreateTopics), func(q kmsg.Request) (kmsg.Response, error, bool) {
		for _, topic := range q.(*kmsg.CreateTopicsRequest).Topics {
			for _, c := range topic.Configs {
				if c.Name == "message.timestamp.type" {
					tellsTime[topic.Topic] = c.Value != nil && *c.Value == "LogAppendTime"
				}
			}
		}
		return nil, nil, false
	})
	cluster.ControlKey(int16(kmsg.Produce), func(q kmsg.Request) (kmsg.Response, error, bool) {
		for _, topic := range q.(*kmsg.ProduceRequest).Topics {
			for i := range topic.Partitions {
				p := &topic.Partitions[i]
				p.Records = rewritten(p.Records, unzstd, tellsTime[topic.Topic])
			}
		}
		return nil, nil, false
	})
}

// rewritten returns a batch without zstd, and with the broker's time if brokersTime is set. It leaves anything that is
// not such a batch as it is: the broker refuses that.
func rewritten(batch []byte, unzstd *zstd.Decoder, brokersTime bool) []byte {
	const length, overhead, crc, crcFrom, attributes, first, latest, head = 8, 12, 17, 21, 22, 27, 35, 61
	const codec, zstdCodec, appendTime = 7, 4, 8
	if len(batch) < head || batch[attributes]&codec != zstdCodec && !brokersTime {
		return batch
	}
	out := bytes.Clone(batch)
	if out[attributes]&codec == zstdCodec {
		var err error
		if out, err = unzstd.DecodeAll(batch[head:], out[:head]); err != nil {
			return batch
		}
		out[attributes] &^= codec
	}
	if brokersTime {
		out[attributes] |= appendTime
		// The broker sets these too, to the same time, but does not change the CRC.
		now := uint64(time.Now().UnixMilli())
		binary.BigEndian.PutUint64(out[first:], now)
		binary.BigEndian.PutUint64(out[latest:], now)
	}
	binary.BigEndian.PutUint32(out[length:], uint32(len(out)-overhead))
	binary.BigEndian.PutUint32(out[crc:], crc32.Checksum(out[crcFrom:], crc32.MakeTable(crc32.Castagnoli)))
	return out
}
