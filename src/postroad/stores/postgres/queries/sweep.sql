-- What has expired dies; answers the spells that may be too long.
select postroad.sweep($1)
