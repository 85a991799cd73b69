-- What has expired dies; answers the spells that may be too long.
select postroad.sweep_v1($1)
