package demo

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

const (
	// mostMoving is how many bytes the moving picture may have.
	mostMoving = 1500 << 10
	// wide and high are its size in pixels.
	wide, high = 1120, 640
	// frame is how long a window is shown, in hundredths of a second, and last the last one.
	frame, last = 25, 300
)

// film takes a picture of the page of a demo for each window that comes until a time, and makes a moving picture of
// them.
func film(browser context.Context, address string, until time.Time) ([]byte, error) {
	var end float64 // of the newest window that is shown
	const newest = `document.querySelector(".first .plot")?.plot.end ?? 0`
	err := chromedp.Run(browser, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: "light"}}), emulation.SetDeviceMetricsOverride(wide, high, 1, false),
		chromedp.Navigate(address+"/#/"), chromedp.WaitVisible(".first canvas"), chromedp.Sleep(3*time.Second),
		chromedp.Evaluate(newest, &end))
	var frames []image.Image
	for before := end; err == nil && end < float64(until.Unix()); before = end {
		var shot []byte
		err = chromedp.Run(browser, chromedp.ActionFunc(func(ctx context.Context) (err error) {
			shot, err = page.CaptureScreenshot().WithClip(&page.Viewport{Width: wide, Height: high, Scale: 1}).Do(ctx)
			return err
		}))
		if err != nil {
			break
		}
		var taken image.Image
		if taken, err = png.Decode(bytes.NewReader(shot)); err != nil {
			return nil, err
		}
		frames = append(frames, taken)
		for err == nil && end == before {
			err = chromedp.Run(browser, chromedp.Sleep(100*time.Millisecond), chromedp.Evaluate(newest, &end))
		}
		if err == nil { // what the page asks for after a window comes a second later
			err = chromedp.Run(browser, chromedp.Sleep(1500*time.Millisecond))
		}
	}
	if err != nil {
		return nil, err
	}
	return animated(frames)
}

// animated makes a GIF of frames of the same size. All have the same colours: those that most pixels have. A frame
// holds only the part in which it differs from the one before.
func animated(frames []image.Image) ([]byte, error) {
	counts := map[color.RGBA]int{}
	for i := 0; i < len(frames); i += 4 {
		each(frames[i], frames[i].Bounds(), func(_, _ int, c color.RGBA) { counts[c]++ })
	}
	common := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		common = append(common, c)
	}
	slices.SortFunc(common, func(a, b color.RGBA) int { return counts[b] - counts[a] })
	var colours color.Palette
	for _, c := range common[:min(len(common), 128)] {
		colours = append(colours, c)
	}
	places := map[color.RGBA]uint8{}
	var moving gif.GIF
	var before *image.Paletted
	for _, f := range frames {
		whole := image.NewPaletted(f.Bounds(), colours)
		each(f, f.Bounds(), func(x, y int, c color.RGBA) {
			at, known := places[c]
			if !known {
				at = uint8(colours.Index(c)) //nolint:gosec // at most 128
				places[c] = at
			}
			whole.SetColorIndex(x, y, at)
		})
		part := whole
		if before != nil {
			part = whole.SubImage(changed(before, whole)).(*image.Paletted)
		}
		before = whole
		moving.Image, moving.Delay = append(moving.Image, part), append(moving.Delay, frame)
	}
	moving.Delay[len(moving.Delay)-1] = last
	moving.Config = image.Config{ColorModel: colours, Width: frames[0].Bounds().Dx(), Height: frames[0].Bounds().Dy()}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &moving)
	return b.Bytes(), err
}

// each calls f for each pixel of a part.
func each(of image.Image, part image.Rectangle, f func(x, y int, c color.RGBA)) {
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			f(x, y, color.RGBAModel.Convert(of.At(x, y)).(color.RGBA))
		}
	}
}

// changed is the least part that holds all pixels that differ, or one pixel if none does.
func changed(a, b *image.Paletted) (part image.Rectangle) {
	for y := a.Rect.Min.Y; y < a.Rect.Max.Y; y++ {
		for x := a.Rect.Min.X; x < a.Rect.Max.X; x++ {
			if a.ColorIndexAt(x, y) != b.ColorIndexAt(x, y) {
				part = part.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if part.Empty() {
		return image.Rect(0, 0, 1, 1)
	}
	return part
}

// A moving picture shows each frame as it is, and holds only what changes.
func TestAnimated(t *testing.T) {
	var frames []image.Image
	for i := range 8 {
		f := image.NewRGBA(image.Rect(0, 0, 40, 30))
		f.SetRGBA(10+i, 20, color.RGBA{200, 0, 0, 255})
		frames = append(frames, f)
	}
	b, err := animated(frames)
	if err != nil {
		t.Fatal(err)
	}
	got, err := gif.DecodeAll(bytes.NewReader(b))
	if err != nil || len(got.Image) != len(frames) {
		t.Fatalf("%v: %d frames, want %d", err, len(got.Image), len(frames))
	}
	for i, f := range got.Image {
		if size := f.Rect.Size(); i > 0 && size != (image.Point{2, 1}) {
			t.Errorf("frame %d holds %s, want what changed: 2 × 1", i, size)
		}
		if r, _, _, _ := f.At(10+i, 20).RGBA(); r>>8 != 200 {
			t.Errorf("frame %d has no red at %d", i, 10+i)
		}
	}
}
