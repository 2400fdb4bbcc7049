package service

import (
	"os"
	"runtime/debug"
	"sync"
)

// besidesBags is the memory that a process needs in addition to open windows: pages of records, decoders, connections,
// records for the page. With the program itself, about 30 MiB, that is less than 200 MiB.
const besidesBags = 150 << 20

// memoryStep is how much the limit moves at once: each move stops the program for a moment.
const memoryStep = 32 << 20

// memory is the soft limit of the process. Below it, the garbage collector works harder before the process uses much
// more than the memory for open windows. The limit grows with what may not be dropped, so that the collector does not
// fight what it cannot change. It is safe for concurrent use.
type memory struct {
	bags int64
	set  func(limit int64)

	mu    sync.Mutex
	fixed map[int]int64 // by partition of the release stage
	limit int64
}

// limitMemory sets the limit. If GOMEMLIMIT is set, it applies instead, and nothing moves it.
func limitMemory(bags int64) *memory {
	m := &memory{bags: bags, set: func(limit int64) { debug.SetMemoryLimit(limit) }, fixed: map[int]int64{}}
	if os.Getenv("GOMEMLIMIT") != "" {
		m.set = func(int64) {}
	}
	m.move()
	return m
}

// remembers says how much a partition of the release stage holds that may not be dropped.
func (m *memory) remembers(partition int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fixed[partition] = bytes
	m.move()
}

// move sets the limit if it has changed. What may not be dropped counts twice: it is copied when it grows.
func (m *memory) move() {
	var fixed int64
	for _, bytes := range m.fixed {
		fixed += 2 * bytes
	}
	limit := m.bags + besidesBags + (fixed+memoryStep-1)/memoryStep*memoryStep
	if limit != m.limit {
		m.limit = limit
		m.set(limit)
	}
}
