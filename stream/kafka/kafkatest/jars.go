package kafkatest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// defaultVersion is the version of Apache Kafka that tests run on.
const defaultVersion = "4.1.0"

// Version returns the version of the real broker.
func Version() string {
	if v := os.Getenv("LOUVER_TEST_KAFKA_VERSION"); v != "" {
		return v
	}
	return defaultVersion
}

// A broker does not need kafka-tools-api, and Maven Central lacks version 4.4.0 of it.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>louver</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>%s</version>
      <exclusions><exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion></exclusions>
    </dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`

// jars returns the folder with Kafka's jars.
func jars(t testing.TB) string {
	t.Helper()
	return Jars(t, "kafka-"+Version(), fmt.Sprintf(pom, Version()))
}

// Jars returns the folder with the jars that a pom.xml asks for, and fetches them from Maven Central if necessary. name
// says what they are and which versions.
func Jars(t testing.TB, name, pom string) string {
	t.Helper()
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing(t, "%s needs %s: %v", name, tool, err)
		}
	}
	return cached(t, name, "libs", func(partial string) {
		dir := filepath.Dir(partial)
		if err := os.WriteFile(filepath.Join(dir, "pom.xml"), []byte(pom), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime",
			"-DoutputDirectory="+partial)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			missing(t, "the jars of %s can't be fetched: %v\n%s", name, err, out)
		}
	})
}

// cached returns a folder in the user's cache, and calls make if it is not there. Test binaries that run at the same
// time wait for one another. The folder gets its name when it is complete, so one that was interrupted does not count.
func cached(t testing.TB, of, name string, make func(partial string)) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "louver-test", of)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close() //nolint:errcheck // closing it unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatalf("lock %s: %v", lock.Name(), err)
	}
	made := filepath.Join(dir, name)
	if _, err := os.Stat(made); err == nil {
		return made
	}
	partial := made + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		t.Fatal(err)
	}
	make(partial)
	if err := os.Rename(partial, made); err != nil {
		t.Fatal(err)
	}
	return made
}

// missing skips the test. In CI it fails the test, because nobody would notice a skip.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
