"""Presentation shared by the back office and the reader pages: names, values, states, trees and diagrams."""
