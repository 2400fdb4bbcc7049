package mechanisms

// Point is a grid index and how many users hold it. Index −1 is a value below the grid, N+1 one above.
type Point struct{ Index, Count int64 }
