package web

import (
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"

	"github.com/klauspost/compress/gzhttp"
)

var (
	// page is what every view needs. Its vendor/uplot holds unchanged files of the npm package uplot 1.6.32 (MIT):
	// package/dist/uPlot.iife.min.js and package/LICENSE of a tgz whose sha256 is
	// 4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d; page.css has what is needed of its style sheet.
	//go:embed page
	page embed.FS
	//go:embed budget
	accounts embed.FS // what a page loads with its view of the budgets
	//go:embed comparison
	pairs embed.FS // what a page loads when somebody picks a window to compare
	//go:embed demo
	demonstration embed.FS // what only a demo has
	//go:embed histogram
	histograms embed.FS // what a page loads with its first histogram
	//go:embed shares
	distributionShares embed.FS // what a page loads when somebody clicks on a window of a histogram
	//go:embed total
	totals embed.FS // what a page loads with its first running total
	//go:embed groups
	foundGroups embed.FS // what a page loads with its first stream whose groups are found
)

// addFiles adds the files of a folder; index.html is at /.
func addFiles(mux *http.ServeMux, files embed.FS, folder string) {
	_ = fs.WalkDir(files, folder, func(name string, d fs.DirEntry, err error) error { // embedded files can be read
		if err != nil || d.IsDir() {
			return err
		}
		body, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		at := name[len(folder):]
		if at == "/index.html" {
			at = "/{$}"
		}
		mux.Handle("GET "+at, file(name, body))
		return nil
	})
}

// file answers with a file.
func file(name string, body []byte) http.Handler {
	return gzhttp.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, contentType(name), body)
	}))
}

// contentType does not use the system's table of file types, which differs between machines.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".txt", ".md", "":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}
