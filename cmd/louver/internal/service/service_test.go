package service

import (
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
)

func TestSettingsReachTheService(t *testing.T) {
	s := Service{ServiceSettings: cli.ServiceSettings{BagBytes: 5_000_000, CheckpointEvery: 7}}
	if got := s.engine(nil); got.BagBytes != 5_000_000 || got.CheckpointEvery != 7 {
		t.Errorf("the service may hold %d bytes and writes a checkpoint every %d entries, want 5000000 and 7",
			got.BagBytes, got.CheckpointEvery)
	}
}
