package demo

import (
	"syscall"
	"time"
	"unsafe"
)

// occupy keeps the goroutine's processor of GOMAXPROCS for a while, or until the scheduler interrupts it. An endless
// loop would do the same, but use up a processor of the machine. The scheduler is not told of a raw system call, so it
// gives the processor to nobody else.
func occupy(while time.Duration) {
	wanted := syscall.NsecToTimespec(int64(while))
	_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&wanted)), 0, 0)
}
