"""Hocket in model libraries and engines: a module for each, which imports that library and registers Hocket with it."""
