-- When the next message's own deadline passes.
select min(expires_at) from message where expires_at < 4611686018427387904
