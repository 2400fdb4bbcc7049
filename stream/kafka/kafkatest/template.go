package kafkatest

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A template is a folder with what all brokers of a version begin with. It saves more than half of the work of a start.
const (
	checkpoint = "bootstrap.checkpoint" // what formatting writes, the same for all clusters
	classes    = "classes.jsa"          // Java's archive of the classes that a broker loads
)

// newServer is a node with a folder, which is neither configured nor started.
func newServer(t testing.TB, id int, dir string) *server {
	t.Helper()
	s := &server{id: id, libs: jars(t), dir: dir}
	s.template = cached(t, "kafka-"+Version(), "template", func(partial string) { makeTemplate(t, s.libs, partial) })
	return s
}

// makeTemplate starts a broker without a template, and stops it.
func makeTemplate(t testing.TB, libs, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &server{id: 1, libs: libs, dir: t.TempDir(), archive: filepath.Join(dir, classes)}
	t.Cleanup(s.kill)
	boot(t, []*server{s})
	s.stop(t)
	if err := copyFile(filepath.Join(dir, checkpoint), filepath.Join(s.data(), checkpoint)); err != nil {
		t.Fatal(err)
	}
}

// java is a command that runs one of Kafka's programs.
func (s *server) java(program string, args ...string) []string {
	command := []string{"java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"}
	switch {
	case s.template != "":
		// Java ignores one that does not fit
		command = append(command, "-XX:SharedArchiveFile="+filepath.Join(s.template, classes))
	case program == broker:
		command = append(command, "-XX:ArchiveClassesAtExit="+s.archive)
	}
	return append(append(command, "-cp", filepath.Join(s.libs, "*"), program), args...)
}

// broker is the program that is a node.
const broker = "kafka.Kafka"

// format gives a node the folder of a new cluster.
func (s *server) format() error {
	if s.template == "" {
		command := s.java("kafka.tools.StorageTool", "format", "-t", s.cluster, "-c", s.config())
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("format: %w: %s", err, out)
		}
		return nil
	}
	if err := os.MkdirAll(s.data(), 0o755); err != nil {
		return err
	}
	meta := fmt.Sprintf("version=1\ncluster.id=%s\nnode.id=%d\ndirectory.id=%s\n", s.cluster, s.id, newID())
	if err := os.WriteFile(filepath.Join(s.data(), "meta.properties"), []byte(meta), 0o644); err != nil {
		return err
	}
	return copyFile(filepath.Join(s.data(), checkpoint), filepath.Join(s.template, checkpoint))
}

// newID is an id as Kafka makes them.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[0] &= 0x7f           // its text must not begin with a dash
	return base64.RawURLEncoding.EncodeToString(id[:])
}

func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
