tile.schedule @a {
  tile.cluster memory { fetch(0) }
}
tile.schedule @b {
  tile.cluster memory { fetch(0) }
}
