-- The limit of a lane's credential from now on.
select postroad.limit_lane($1, $2, $3, $4, $5)
