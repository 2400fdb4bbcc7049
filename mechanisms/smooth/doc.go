// Package smooth releases means and quantiles by smooth sensitivity.
package smooth
