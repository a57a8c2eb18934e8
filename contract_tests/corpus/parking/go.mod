module parking

go 1.19
