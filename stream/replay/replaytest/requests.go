// Package replaytest gives tests the real data that they replay.
package replaytest

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"
)

// Requests returns the rows of web_requests.csv without their header: time, client, section, status and bytes, in order
// of time. It skips the test if the folder in LOUVER_TEST_DATA does not have the file.
func Requests(t testing.TB) [][]string {
	t.Helper()
	dir := os.Getenv("LOUVER_TEST_DATA")
	f, err := os.Open(filepath.Join(dir, "web_requests.csv"))
	if dir == "" || os.IsNotExist(err) {
		t.Skipf("no web_requests.csv in LOUVER_TEST_DATA=%q", dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}
