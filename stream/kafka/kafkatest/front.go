package kafkatest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// front passes TCP connections on to a node.
type front struct {
	listener net.Listener
	to       atomic.Pointer[string]
	mu       sync.Mutex
	open     map[net.Conn]bool
}

func newFront() (*front, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &front{listener: l, open: map[net.Conn]bool{}}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // closed
			}
			go f.serve(client)
		}
	}()
	return f, nil
}

func (f *front) addr() string { return f.listener.Addr().String() }

// serve copies both ways until one side ends.
func (f *front) serve(client net.Conn) {
	node, err := net.Dial("tcp", *f.to.Load())
	if err != nil {
		_ = client.Close()
		return
	}
	f.mu.Lock()
	f.open[client], f.open[node] = true, true
	f.mu.Unlock()
	end := func() {
		_, _ = client.Close(), node.Close()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, client)
		delete(f.open, node)
	}
	go func() {
		defer end()
		_, _ = io.Copy(node, client)
	}()
	defer end()
	_, _ = io.Copy(client, node)
}

// cut closes every connection that is open.
func (f *front) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.open {
		_ = c.Close()
	}
}

func (f *front) close() {
	_ = f.listener.Close()
	f.cut()
}
