package simulate

import _ "embed" // the streams file

//go:embed demo.yaml
var streams []byte

// Streams returns the streams file of the demo, YAML. Its streams read one input topic, which takes the JSON of
// [Event.AppendJSON].
func Streams() []byte { return append([]byte(nil), streams...) }
