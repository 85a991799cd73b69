-- Cancel what nobody owns; ask the owners of the rest.
select postroad.cancel($1, $2)
