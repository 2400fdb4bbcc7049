//go:build !linux

package demo

import "time"

// occupy keeps the goroutine's processor of GOMAXPROCS for a while.
func occupy(while time.Duration) {
	for from := time.Now(); time.Since(from) < while; {
	}
}
