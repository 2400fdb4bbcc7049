package record

import (
	"encoding/json"
	"testing"
)

// The band of a figure is what the record says, and nothing else: no other field makes one.
func TestBand(t *testing.T) {
	for text, want := range map[string]Band{
		`{"value":120,"low":100,"high":130.5,"level":0.9,"basis":"interval"}`: {100, 130.5, 0.9, OfInterval},
		`{"value":120,"low":110,"high":128,"level":0.95,"basis":"scatter","interval":{"level":0.9,"low":1,"high":2},
			"smoothed":{"value":118,"low":3,"high":4},"error_95":5}`: {110, 128, 0.95, OfScatter},
		`{"value":120,"low":null,"high":null,"level":null,"basis":"ranks","p_low":0.4,"p_high":0.6}`: {},
		`{"value":null,"low":null,"high":null,"level":null,"basis":null}`:                            {},
		// Records of earlier releases.
		`{"value":120,"interval":{"level":0.9,"low":100,"high":130},"error_95":5}`: {},
		`{"value":120,"smoothed":{"value":118,"low":110,"high":128}}`:              {},
		`{"value":3,"error_95":5,"statistic":"count"}`:                             {},
	} {
		var f Value
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		if got, ok := f.Band(); got != want || ok != (want != Band{}) {
			t.Errorf("%s: %v, %v; want %v", text, got, ok, want)
		}
	}
}

// A band goes as far below the value as above only if the noise does. One of a number of users that begins with 0 says
// how many there are at most.
func TestEvenBands(t *testing.T) {
	for text, want := range map[string][2]bool{
		`{"value":0.3,"low":0.2,"high":0.4,"level":0.95,"basis":"noise","statistic":"mean"}`:     {true, false},
		`{"value":0.3,"low":0.2,"high":0.4,"level":0.95,"basis":"clipped","statistic":"mean"}`:   {true, false},
		`{"value":0.3,"low":0.2,"high":0.4,"level":0.95,"basis":"scatter","statistic":"median"}`: {false, false},
		`{"value":3,"low":3,"high":3,"level":0.95,"basis":"noise","statistic":"sum"}`:            {true, false},
		`{"value":30,"low":10,"high":50,"level":0.95,"basis":"noise","statistic":"count"}`:       {true, false},
		`{"value":30,"low":0,"high":90,"level":0.95,"basis":"noise","statistic":"count"}`:        {false, true},
		`{"value":0,"low":0,"high":7,"level":0.95,"basis":"noise","statistic":"outside"}`:        {false, true},
		`{"value":0,"low":0,"high":7,"level":0.95,"basis":"scatter","statistic":"median"}`:       {false, false},
		`{"value":0,"statistic":"count"}`: {false, false},
	} {
		var f Value
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		b, ok := f.Band()
		value, _ := f.Value.Float64()
		if got := [2]bool{ok && b.Even(value), f.AtMost()}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
