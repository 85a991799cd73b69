-- Expiry and retention.

-- name: sweep
-- Messages whose deadline has passed die; returns the blocks and circuits that may have lasted too long.
select postroad.sweep($1)

-- name: sweep_spell
-- Messages that waited too long behind a block or an open circuit die.
select postroad.sweep_spell($1, $2, $3, $4, $5, $6)

-- name: retain
-- Delete finished work that is past its retention.
select postroad.retain($1, $2, $3) + postroad.forget_tries($1, $3) + postroad.forget_events($1, $3)
     + postroad.forget_rollups(10, $4, $3) + postroad.forget_rollups(3600, $5, $3)
