package codec

import "strconv"

// Event is the checked content of a record.
type Event struct {
	// User is the id, never empty. It is valid until the next call of the decoder, as long as the record is not
	// changed, and must not be changed itself.
	User []byte
	// Group is the index of the event's group in the Spec's list.
	Group int
	// Name is the group's name in its canonical form if the Spec is open. It is valid as long as User.
	Name []byte
	// Time is the event's time in Unix nanoseconds, at least 0.
	Time int64
	// Value is what the Spec's Grid makes of the value, such as the index of the nearest point; −1 below the grid's
	// bounds, N+1 above. It is 1 if the Spec has no value.
	Value int64
}

// Record is a record of Kafka.
type Record struct {
	// Key and Value are nil if null.
	Key, Value []byte
	// Time is the record's own timestamp in Unix nanoseconds, negative if it has none.
	Time int64
	// Headers are the record's headers; nil if there are none. Only formats that need them look at them.
	Headers Headers
}

// Headers are the headers of a record. [github.com/louver/louver/stream/kafka/fetch.Record] implements it.
type Headers interface {
	// Header returns the value of the last header of that name.
	Header(name string) (value []byte, ok bool)
}

// Decoder reads records of one stream. It is not safe for concurrent use.
type Decoder interface {
	// Decode reads a record into e. It returns OK, or Unwanted, or the first of the reasons, in their order, that the
	// record is rejected for; e is then undefined. A record that cannot be parsed is malformed, wanted or not. Decode
	// keeps nothing of the record beyond the next call and does not change it.
	Decode(r Record, e *Event) Reason
	// Skipped says more about why Decode has just returned Unwanted.
	Skipped() Skip
	// Missing reports whether the last rejection, with BadValue, BadUser, BadTime or BadGroup, was because the field is
	// missing altogether.
	Missing() bool
	// Doubt says what the value of a record may be that Decode has just rejected with BadValue, in words that go on
	// from "the record"; "" if nothing is known. It tells nothing of the value itself.
	Doubt() string
	// Cause says why a record is malformed that Decode has just found to be so, in words that go on from "the record".
	// It names what was expected, fields of the Spec and numbers of schemas, and no value.
	Cause(r Record) string
}

// Reason says why a record is rejected or skipped. The zero Reason is OK.
type Reason uint8

// Reasons for rejecting a record, in the order of checking.
const (
	OK        Reason = iota
	Malformed        // the record can't be parsed as its format, or is too large to be looked at
	BadValue         // the value is missing, or neither a number nor a text that is one
	BadUser          // the user is missing, empty or neither a string nor an integer
	BadTime          // the time is missing or unreadable, before 1970 or after 2262; or the record has no timestamp
	BadGroup         // the group is missing, neither a string nor an integer, not one of the public list, or no name
	Future           // the time lies further ahead of the record's timestamp than MaxFuture, or far ahead of the clock
	Unwanted         // the record does not meet a condition of the Spec: it is skipped, and not rejected
	NoUser           // the item of OpenTelemetry has no user, and is skipped
	NoValue          // the data point has no number, and is skipped
	NoDelta          // the data point of a sum is not said to be a difference, and is skipped

	// NumReasons is the number of Reasons, OK included.
	NumReasons = iota
)

var names = [NumReasons]string{"", "malformed", "bad_value", "bad_user", "bad_time", "bad_group", "future", "where",
	"no_user", "no_value", "no_delta"}

// String returns the reason as metrics and headers name it; "" for OK.
func (r Reason) String() string {
	if int(r) >= len(names) {
		return "Reason(" + strconv.Itoa(int(r)) + ")"
	}
	return names[r]
}

// Skips reports whether records are skipped for the reason, and not rejected.
func (r Reason) Skips() bool { return r >= Unwanted }

// Reasons returns all reasons for rejecting a record, in the order of checking.
func Reasons() []Reason {
	return []Reason{Malformed, BadValue, BadUser, BadTime, BadGroup, Future}
}
