package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"syscall"
)

// Text reads a text file that may come from a spreadsheet. It skips a byte order mark, unpacks gzip, and refuses files
// that are clearly not text, naming what they are. An empty file is an empty text.
func Text(in io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(in, 1<<16)
	start, err := b.Peek(512)
	switch {
	case errors.Is(err, syscall.EISDIR):
		return nil, errors.New("this is a directory; want a file")
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	if bytes.HasPrefix(start, []byte("\x1f\x8b")) {
		unpacked, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		return Text(packedText{unpacked})
	}
	for _, f := range []struct{ magic, message string }{
		{"PK\x03\x04", "a zip archive or a spreadsheet; unpack it, or save it as CSV"},
		{"PAR1", "a Parquet file; convert it to CSV or JSON lines"},
		{"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it, or use gzip"},
		{"\xff\xfe", "UTF-16; want UTF-8: iconv -f UTF-16 -t UTF-8"},
		{"\xfe\xff", "UTF-16; want UTF-8: iconv -f UTF-16 -t UTF-8"},
	} {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return nil, errors.New("the file is " + f.message)
		}
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return nil, errors.New("the file is not text; want CSV or JSON lines in UTF-8")
	}
	const mark = "\ufeff"
	if bytes.HasPrefix(start, []byte(mark)) {
		_, _ = b.Discard(len(mark)) // Peek has read it
	}
	return b, nil
}

// packedText is what a packed file holds. Its error says in words that the file is cut off.
type packedText struct{ io.Reader }

func (t packedText) Read(to []byte) (int, error) {
	n, err := t.Reader.Read(to)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file is compressed and cut off; want all of it")
	}
	return n, err
}

func notUTF8(line int) error {
	return fmt.Errorf("%d: the line is not UTF-8; convert the file, for example with iconv", line)
}

// LineError begins the reader's error with its line number. It does not repeat the line's content.
func LineError(err error) error {
	var p *csv.ParseError
	if errors.Is(err, io.EOF) {
		return err
	} else if !errors.As(err, &p) {
		return fmt.Errorf(" %w", err) // an error of reading the file, not of a line
	}
	if errors.Is(p, csv.ErrFieldCount) {
		return fmt.Errorf("%d: the line does not have as many fields as the header; want one for each column", p.Line)
	}
	return fmt.Errorf("%d: %w; want CSV, RFC 4180", p.Line, p.Err)
}

func quoted(text string) []byte {
	b, _ := json.Marshal(text) // every string has a JSON form
	return b
}

// numberOrString writes a number as JSON does, and anything else as a string. Most numbers keep their text. Those that
// JSON does not know, such as +5, .5 and 5., are written in its notation.
func numberOrString(text string) []byte {
	if text != "" && (text[0] == '-' || isDigit(text[0])) && isDigit(text[len(text)-1]) && json.Valid([]byte(text)) {
		return []byte(text)
	}
	if n := looseNumber.FindStringSubmatch(text); n != nil {
		number := strings.TrimPrefix(n[1], "+") + cmp.Or(n[2], "0")
		if fraction := n[3] + n[4]; fraction != "" {
			number += "." + fraction
		}
		return []byte(number + n[5])
	}
	return quoted(text)
}

// looseNumber is a number as mechanisms.Grid.Parse reads it. Its parts are the sign, the digits before the point and
// those after it, or only those after it, and the exponent.
var looseNumber = regexp.MustCompile(`^([-+]?)(?:(0|[1-9][0-9]*)(?:\.([0-9]*))?|\.([0-9]+))((?:[eE][-+]?[0-9]+)?)$`)

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
