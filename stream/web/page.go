package web

import (
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"

	"github.com/klauspost/compress/gzhttp"
)

//go:embed page
var page embed.FS

// addPage adds the files of the page; index.html is at /.
func addPage(mux *http.ServeMux) {
	_ = fs.WalkDir(page, "page", func(name string, d fs.DirEntry, err error) error { // embedded files can be read
		if err != nil || d.IsDir() {
			return err
		}
		body, err := page.ReadFile(name)
		if err != nil {
			return err
		}
		at := name[len("page"):]
		if at == "/index.html" {
			at = "/{$}"
		}
		mux.Handle("GET "+at, gzhttp.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, contentType(name), body)
		})))
		return nil
	})
}

// contentType does not use the system's table of file types, which differs
// between machines.
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
