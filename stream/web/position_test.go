package web

import "testing"

func TestPosition(t *testing.T) {
	p := position{{"orders.private", 2}: 40, {"orders.private", 0}: 812, {"a-b_c", 11}: 7}
	const id = "a-b_c:11=7;orders.private:0=812,2=40"
	want(t, "id", p.String(), id)
	back, err := parsePosition(id)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "read back", back, p)
	for _, bad := range []string{"", "x", "x:", ":0=1", "x:0", "x:0=", "x:0=-1", "x:-1=0", "x:0=1;", "x:0=99999999999999999999"} {
		if p, err := parsePosition(bad); err == nil {
			t.Errorf("%q is %v; want an error", bad, p)
		}
	}
}
