-- An owned lane is ready for nobody else.
update lane_level set ready_at = 4611686018427387904
 where lane_id = ?1 and ready_at <> 4611686018427387904
