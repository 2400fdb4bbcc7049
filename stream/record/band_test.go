package record

import (
	"encoding/json"
	"testing"
)

// The band of a figure is the one that was paid for, else the free one, else the published error; a count is not below
// 0.
func TestBand(t *testing.T) {
	for text, want := range map[string]Band{
		`{"value":120,"interval":{"level":0.9,"low":100,"high":130},"smoothed":{"value":118,"low":110,"high":128},"error_95":5}`: {100, 130, OfInterval},
		`{"value":120,"smoothed":{"value":118,"low":110,"high":128},"error_95":5}`:                                               {110, 128, OfSmoothed},
		`{"value":120,"smoothed":{"value":118,"low":null,"high":null},"error_95":5,"unit":"ms"}`:                                 {115, 125, OfNoise},
		`{"value":3,"error_95":5,"unit":"ms"}`:                                                                                   {-2, 8, OfNoise},
		`{"value":3,"error_95":5,"statistic":"count"}`:                                                                           {0, 8, OfNoise},
		`{"value":120,"p_low":0.4,"p_high":0.6}`:                                                                                 {},
		`{"value":null,"error_95":5}`:                                                                                            {},
	} {
		var f Figure
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		if got, ok := f.Band(); got != want || ok != (want != Band{}) {
			t.Errorf("%s: %v, %v; want %v", text, got, ok, want)
		}
	}
}
