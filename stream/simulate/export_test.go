package simulate

// Regions returns the names of the regions, which are the groups of the demo.
func Regions() []string {
	var names []string
	for _, r := range regions {
		names = append(names, r.name)
	}
	return names
}
