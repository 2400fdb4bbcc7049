package smooth

import "github.com/louver/louver/mechanisms/internal/uint128"

type wide = uint128.Int

func wideOf(x int64) wide { return uint128.Of(uint64(x)) }

// times returns x·y for x, y ≥ 0.
func times(x, y int64) wide { return uint128.Product(uint64(x), uint64(y)) }
