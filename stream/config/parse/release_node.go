package parse

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// releaseNode is a release and its place. Its mechanism is made later.
type releaseNode struct {
	config.Release
	form.Mapping
	changeKeys
	totalKeys
	histogramKeys
	sound bool // it has no faults of its own
}

// changeKeys are the keys of a release that say when it is drawn.
type changeKeys struct {
	publish      string
	tolerance    decimal.Decimal
	watchEpsilon decimal.Decimal
	atMost       int64
}

// totalKeys are the keys of a release that make it a running total.
type totalKeys struct {
	since, zone string
	update      time.Duration
	maxTotal    *decimal.Decimal
}

// histogramKeys are the keys of a histogram, and of a release that is computed from one.
type histogramKeys struct {
	from      string
	objective decimal.Decimal // 0: none
}
