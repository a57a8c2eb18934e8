"""What happened in worlds over their time, drawn as one HTML file."""
