module windlass.invalid/bench/peers/go

go 1.21
