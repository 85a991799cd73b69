-- Cancel what nobody owns; ask the owners of the rest.
select postroad.cancel_v1($1, $2)
